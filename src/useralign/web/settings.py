"""How the web application is run."""

from __future__ import annotations

import ipaddress
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from useralign.errors import OptionError
from useralign.pooling import load_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from useralign.models import Generator

SHORTEST_SECRET = 16
NO_SECRET = (
    "to listen {} a secret is needed: set USERALIGN_SECRET, or give --secret-file, "
    f"with at least {SHORTEST_SECRET} characters"
)
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Settings:
    """What is decided when the server starts."""

    # Opens the administration pages, and is what pseudonyms are keyed with. Needed beyond this
    # machine.
    secret: str | None = field(default=None, repr=False)
    # Whether only this machine can reach the server. Then the API needs no key, requests for other
    # host names are refused (a page elsewhere could otherwise reach us under its own name), and
    # anybody may have a model make answers.
    loopback: bool = True
    # Names under which the server may be addressed, besides those of this machine; none given: any,
    # beyond loopback.
    hosts: frozenset[str] = frozenset()
    # Other sites whose pages may hold sessions by tokens, such as `https://app.example`.
    origins: frozenset[str] = frozenset()
    # What tokens are signed with; all processes that share a database must have the same.
    signing: str = field(default_factory=secrets.token_urlsafe, repr=False, compare=False)
    trust_proxy: bool = False  # believe the X-Forwarded-Proto, -Host and -For of a proxy in front
    # Whether visitors may have a model make answers, at the server's expense: as `loopback` when
    # not given. API keys always may.
    making: bool | None = None
    generator: Callable[[str | None], Generator] = load_generator  # the generator of a name
    upstream: str | None = None  # the name of the one behind `/v1`; else the best that is available
    workers: int = 1  # how many processes serve the same address
    now: Callable[[], float] = time.time  # seconds since 1970
    largest_body: int = 4 * 1024 * 1024  # bytes of a request
    largest_upload: int = 40 * 1024 * 1024  # and of one with files
    # How fast one person may answer, in the long run and in a burst, and look at pages of sessions.
    answers_per_minute: float = 240.0
    answers_at_once: int = 120
    views_per_minute: float = 300.0
    asks_per_hour: float = 240.0  # questions of one visitor
    tries_per_minute: float = 10.0  # wrong keys or passwords of one visitor
    # Whether a study limits who begins from one network address; not where all come from one.
    limit_participants: bool = True

    def __post_init__(self) -> None:
        if self.secret is None and not self.loopback:
            raise OptionError(NO_SECRET.format("beyond this machine"))
        if self.secret is not None and len(self.secret) < SHORTEST_SECRET:
            raise OptionError(
                f"the secret has {len(self.secret)} characters; expected at least "
                f"{SHORTEST_SECRET}. "
                "Make one: python -c 'import secrets; print(secrets.token_urlsafe(24))'"
            )
        for origin in self.origins:
            check_origin(origin)

    @property
    def visitors_may_make(self) -> bool:
        """Whether visitors may have a model make answers."""
        return self.loopback if self.making is None else self.making

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The host names that are answered to; empty: all."""
        return self.hosts | LOCAL_NAMES if self.hosts or self.loopback else frozenset()


def settings_at(
    host: str, *, secret: str | None, hosts: Collection[str], trust_proxy: bool, **others: Any
) -> Settings:
    """Return the settings to listen at a host; `OptionError` if that is too open for no secret."""
    # Behind a proxy, and under another name, strangers come in by the loopback interface.
    names = sorted(set(hosts) - LOCAL_NAMES)
    loopback = is_loopback(host) and not trust_proxy and not names
    if not loopback and secret is None:
        where = f"under the name {names[0]}" if names else f"at {host}, beyond this machine,"
        raise OptionError(NO_SECRET.format("for a proxy" if trust_proxy else where))
    if secret is not None:
        others["signing"] = secret
    about = {"secret": secret, "hosts": frozenset(hosts), "trust_proxy": trust_proxy}
    return Settings(loopback=loopback, **about, **others)  # type: ignore[arg-type]


def is_loopback(host: str) -> bool:
    """Return whether a host to listen at can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_origin(origin: str) -> None:
    """Raise `OptionError` unless it is the origin of one site, as browsers write it."""
    try:
        parts = urlsplit(origin)
        usual_form = f"{parts.scheme}://{parts.netloc.lower()}"
        usual = {"http": 80, "https": 443}[parts.scheme]
        if origin == usual_form and parts.hostname and parts.port != usual and "*" not in origin:
            return
    except (KeyError, ValueError):
        pass
    raise OptionError(
        f"{origin!r} is not the origin of a site; expected a scheme and a host as browsers write "
        "them, such as https://app.example or http://localhost:3000, without a path"
    )
