"""The contracts of the plug-in points as checks that a plug-in's author can run.

Examples
--------
>>> from useralign.methods import method_for
>>> from useralign.testing import check_method
>>> check_method(method_for("useralign"))
"""

from useralign.methods.conformance import check_method
from useralign.models.embedders.conformance import check_embedder
from useralign.models.generators.conformance import check_generator
from useralign.users.base import check_user

__all__ = ["check_embedder", "check_generator", "check_method", "check_store", "check_user"]


def check_store(url: str) -> None:
    """Verify that a database keeps what the store promises.

    Concurrent identical answers become one, a contradicting one is refused, strangers see nothing,
    a transaction is all or nothing, and who is forgotten leaves nothing.

    Parameters
    ----------
    url : str
        The address of an empty database.

    Raises
    ------
    AssertionError
        If it does not, with what was seen.
    """
    from useralign.store.conformance import check  # noqa: PLC0415 - needs the extra `web`

    check(url)
