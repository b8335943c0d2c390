"""Memory: earlier sessions, a person's own and other people's, make the next one shorter."""

from useralign.memory.fit import fit
from useralign.memory.memory import Memory
from useralign.memory.past import Past
from useralign.memory.population import Population

__all__ = ["Memory", "Past", "Population", "fit"]
