"""Distillation: a plain network that does as a trained policy does, whatever that one needs.

The teacher is asked at the states of its replay, at those it visits itself, and then, round by
round, at those that the student visits: what it would have done there is what the student learns.
"""

from nppac.distill.rounds import Round, distill
from nppac.distill.settings import DistillConfig
from nppac.distill.teacher import Teacher, load_teacher

__all__ = ["DistillConfig", "Round", "Teacher", "distill", "load_teacher"]
