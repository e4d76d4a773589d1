"""The oracle: multi-output GP algebra on the full N·d matrix, in plain NumPy."""

import numpy as np

from nppac.references import GPParams
from nppac.references.gp.kernels import kernel_function


def make_problem(n=25, o=3, d=4, seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(n, o)) * np.array([1.0, 5.0, 0.2])[:o] + 3.0
    actions = rng.uniform(-1, 1, size=(n, d))
    params = GPParams(
        lengthscales=rng.uniform(0.5, 2.0, o) * np.array([1.0, 5.0, 0.2])[:o],
        w=rng.normal(size=d),
        v=rng.uniform(0.1, 1.0, d),
        noise=rng.uniform(0.01, 0.3, d),
        shared_noise=np.asarray(0.05),
        mean=rng.normal(size=d) * 0.3,
    )
    return params, obs, actions


def kernel_matrix(kernel, x, y, lengthscales):
    differences = (x[:, None, :] - y[None, :, :]) / lengthscales
    return kernel_function(kernel)((differences**2).sum(-1), np)


def covariance(params, kernel, obs):
    k = kernel_matrix(kernel, obs, obs, params.lengthscales)
    b = np.outer(params.w, params.w) + np.diag(params.v)
    d = np.diag(params.noise + params.shared_noise)
    return np.kron(k, b) + np.kron(np.eye(len(obs)), d)


def log_likelihood(params, kernel, obs, actions):
    c = covariance(params, kernel, obs)
    y = (actions - params.mean).ravel()
    return -0.5 * (y @ np.linalg.solve(c, y) + np.linalg.slogdet(2 * np.pi * c)[1])


def posterior(params, kernel, obs, actions, query):
    """Mean and variance (n, d) of the action, noise included."""
    b = np.outer(params.w, params.w) + np.diag(params.v)
    c = covariance(params, kernel, obs)
    cross = np.kron(kernel_matrix(kernel, query, obs, params.lengthscales), b)
    y = (actions - params.mean).ravel()
    mean = params.mean + (cross @ np.linalg.solve(c, y)).reshape(len(query), -1)
    prior = np.tile(np.diag(b) + params.noise + params.shared_noise, len(query))
    variance = prior - np.einsum("ij,ij->i", cross, np.linalg.solve(c, cross.T).T)
    return mean, variance.reshape(len(query), -1)
