"""Simulated people who take part through the real pages; the load test as well."""

from useralign.study.simulate.crowd import Crowd, Report, run
from useralign.study.simulate.people import Behaviour

__all__ = ["Behaviour", "Crowd", "Report", "run"]
