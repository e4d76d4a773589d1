"""The Gaussian-process reference: its variance grows away from the demonstrations.

Its mean at a state s is m + k(s, S̄) (K + D)⁻¹ (A - m), for actions A demonstrated at states S̄.
Begin with `posterior.py`: the equations as the paper writes them, and the reference itself. What it
consists of, in the order of the equations:

- `kernels.py`: the prior, that is κ, B, D and m;
- `likelihood.py` and `fit.py`: the likelihood that they maximise, and how they are fitted;
- `solve.py`: conditioning on the demonstrations, by tiles of one matrix (`tiled.py`);
- `mean.py` and `variance.py`: predictions;
- `config.py`: settings, and how long a fit with them takes;
- `large/`: conditioning on more than 20,000 points, by products alone and the same loop of
  conjugate gradients.
"""
