"""One contender of `gp.py`, alone in a process: reads data.npz, prints what it measures as JSON.

Each line holds all that was measured until then, so that little is lost where one gives up.
It imports this project for `ours` and `paper` only, so that a peer's own environment can run it.
"""

import json
import resource
import sys
import time

import numpy as np

STATES = 1000
NU = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


class Report(dict):
    """What was measured; printed whenever there is more of it."""

    def update(self, **measured):
        super().update(measured)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(json.dumps({**self, "peak_gigabytes": memory}), flush=True)


def timed(call, times=1):
    """Least seconds of some calls, and what the last one gave."""
    best, value = np.inf, None
    for _ in range(times):
        began = time.monotonic()
        value = call()
        best = min(best, time.monotonic() - began)
    return best, value


def heldout(mean, variance, actions):
    """Log density of the actions per point, each action by itself."""
    error = (actions - mean) ** 2 / variance + np.log(2 * np.pi * variance)
    return float(-0.5 * error.sum(1).mean())


def subset(n, points):
    return np.sort(np.random.default_rng(0).choice(n, min(n, points), replace=False))


def ours(report, data, settings, **changes):
    from nppac.references import GPConfig, condition
    from nppac.references.gp.fit import fit_hyperparameters

    config = GPConfig(**{**settings["ours"], "kernel": settings["kernel"], **changes})
    seconds, fit = timed(lambda: fit_hyperparameters(data["obs"], data["actions"], config))
    report.update(fit_seconds=seconds, log_likelihood=fit.after, fit_points=fit.points)
    more = data["more_obs"], data["more_actions"]
    seconds, gp = timed(lambda: condition(fit.params, fit.kernel, *more, config))
    report.update(condition_seconds=seconds)
    gp.mean_and_variance(data["query"]), gp.mean_and_variance(data["query"][:1])  # compiles
    report.update(query_seconds=timed(lambda: gp.mean_and_variance(data["query"]), 3)[0])
    report.update(single_query_seconds=timed(lambda: gp.mean(data["query"][:1]), 20)[0])
    small = condition(fit.params, fit.kernel, data["obs"], data["actions"], config)
    return small.mean_and_variance(data["test_obs"])


def paper(report, data, settings):
    return ours(report, data, settings, optimiser="adam", fit_points=2000)


def scikit(report, data, settings):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process import kernels as sk

    location, scale = data["actions"].mean(0), data["actions"].std(0)
    size = np.maximum(data["obs"].std(0), 1e-8)
    o = data["obs"].shape[1]
    start, bounds = np.full(o, o**0.5), (1e-2, 1e5)
    if settings["kernel"] == "rbf":
        kernel = sk.RBF(start, bounds)
    else:
        kernel = sk.Matern(start, bounds, nu=NU[settings["kernel"]])
    model = sk.ConstantKernel(1.0) * kernel + sk.WhiteKernel(0.1)
    chosen = subset(len(data["obs"]), settings["fit_points"])
    x, y = data["obs"] / size, (data["actions"] - location) / scale
    seconds, fit = timed(lambda: GaussianProcessRegressor(model).fit(x[chosen], y[chosen]))
    likelihood = fit.log_marginal_likelihood_value_ / len(chosen) - np.log(scale).sum()
    report.update(fit_seconds=seconds, log_likelihood=float(likelihood), fit_points=len(chosen))
    more_y = (data["more_actions"] - location) / scale
    plain = GaussianProcessRegressor(fit.kernel_, optimizer=None)
    seconds, gp = timed(lambda: plain.fit(data["more_obs"] / size, more_y))
    report.update(condition_seconds=seconds)
    query = data["query"] / size
    report.update(query_seconds=timed(lambda: gp.predict(query, return_std=True), 2)[0])
    report.update(single_query_seconds=timed(lambda: gp.predict(query[:1]), 20)[0])
    mean, std = plain.fit(x, y).predict(data["test_obs"] / size, return_std=True)
    return (location + mean * scale, (std * scale) ** 2)


def gpytorch(report, data, settings):
    import gpytorch as gpt
    import torch

    location, scale = data["actions"].mean(0), data["actions"].std(0)
    size = np.maximum(data["obs"].std(0), 1e-8) * data["obs"].shape[1] ** 0.5
    tasks, dims = data["actions"].shape[1], data["obs"].shape[1]

    def inputs(obs):
        return torch.as_tensor(obs / size, dtype=torch.float64)

    def outputs(actions):
        return torch.as_tensor((actions - location) / scale, dtype=torch.float64)

    class Model(gpt.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            name = settings["kernel"]
            rbf = name == "rbf"
            kernel = (
                gpt.kernels.RBFKernel(ard_num_dims=dims)
                if rbf
                else gpt.kernels.MaternKernel(NU[name], ard_num_dims=dims)
            )
            self.mean = gpt.means.MultitaskMean(gpt.means.ConstantMean(), num_tasks=tasks)
            self.kernel = gpt.kernels.MultitaskKernel(kernel, num_tasks=tasks, rank=1)

        def forward(self, x):
            return gpt.distributions.MultitaskMultivariateNormal(self.mean(x), self.kernel(x))

    def fit():
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        objective, best = gpt.mlls.ExactMarginalLogLikelihood(likelihood, model), -np.inf
        for _ in range(settings["peer_steps"]):
            optimiser.zero_grad()
            loss = -objective(model(x), y)
            loss.backward()
            optimiser.step()
            best = max(best, -float(loss.detach()))
        return best

    def ask(query):
        with torch.no_grad(), gpt.settings.fast_pred_var():
            answer = likelihood(model(query))
            return answer.mean.numpy(), answer.variance.numpy()

    def condition_on(obs, actions):
        model.set_train_data(inputs(obs), outputs(actions), strict=False)
        model.eval(), likelihood.eval()
        return ask(query[:1])

    chosen = subset(len(data["obs"]), settings["fit_points"])
    x, y = inputs(data["obs"][chosen]), outputs(data["actions"][chosen])
    likelihood = gpt.likelihoods.MultitaskGaussianLikelihood(num_tasks=tasks)
    model = Model(x, y, likelihood).double()
    likelihood.double()
    query = inputs(data["query"])
    seconds, best = timed(fit)
    # Its objective is per number: of all actions at a point, and in the units that they came in.
    likelihood_reached = best * tasks - float(np.log(scale).sum())
    report.update(fit_seconds=seconds, log_likelihood=likelihood_reached, fit_points=len(chosen))
    seconds, _ = timed(lambda: condition_on(data["obs"], data["actions"]))
    mean, variance = ask(inputs(data["test_obs"]))
    seconds, _ = timed(lambda: condition_on(data["more_obs"], data["more_actions"]))
    report.update(condition_seconds=seconds)
    report.update(query_seconds=timed(lambda: ask(query), 2)[0])
    report.update(single_query_seconds=timed(lambda: ask(query[:1]), 20)[0])
    return (location + mean * scale, variance * scale**2)


def main():
    name, path, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    with np.load(path) as file:
        data = {key: file[key].astype(np.float64) for key in file}
    contender = {"ours": ours, "paper": paper, "scikit-learn": scikit, "GPyTorch": gpytorch}[name]
    report = Report()
    mean, variance = contender(report, data, settings)
    report.update(heldout_log_likelihood=heldout(mean, variance, data["test_actions"]))


if __name__ == "__main__":
    main()
