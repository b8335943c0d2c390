"""The contracts of the plug-in points as checks that a plug-in's author can run.

Examples
--------
>>> from useralign.methods import method_for
>>> from useralign.testing import check_method
>>> check_method(method_for("useralign"))
"""

from useralign.methods.conformance import check_method
from useralign.models.conformance import check_embedder, check_generator
from useralign.users.base import check_user

__all__ = ["check_embedder", "check_generator", "check_method", "check_user"]
