"""The Gaussian-process reference: its variance grows away from the demonstrations.

Begin with `posterior.py`: the equations as the paper writes them, and the reference itself. What it
consists of, in the order of the equations:

- `kernels.py` and `likelihood.py`: κ, the hyper-parameters, and the likelihood that they maximise;
- `optimise.py` and `fit.py`: how they are fitted;
- `solve.py`: conditioning on the demonstrations, by tiles of one matrix (`tiled.py`), or beyond
  20,000 points by products alone (`large/`); both with one loop of conjugate gradients;
- `mean.py` and `variance.py`: predictions;
- `config.py`, `saved.py` and `work.py`: settings, files, and how long a fit takes.
"""
