"""The tables. What a person told us is appended and never overwritten; an undo is one more row.

Times are seconds since 1970, UTC. Identifiers that open something are unguessable tokens; where a
token also proves who someone is (a cookie, an API key), only its hash is kept.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

_PLAIN = "fingerprint NOT LIKE '%:%'"
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _unique(name: str, *columns: str, where: str) -> Index:
    """Return a unique index over the rows for which a condition holds."""
    condition = text(where)
    return Index(name, *columns, unique=True, sqlite_where=condition, postgresql_where=condition)


def _parent(target: str, *, primary_key: bool = False) -> Column[str]:
    """Return a column that names a row of another table and goes when that row goes."""
    name = target.partition(".")[0].removesuffix("s") + "_id"
    key = ForeignKey(target, ondelete="CASCADE")
    return Column(name, String(64), key, nullable=False, primary_key=primary_key)


# Someone who comes back: a browser's cookie or an API key, by the hash of its token.
persons = Table(
    "persons",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("created", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("remember", Boolean, nullable=False),  # use my earlier answers for me
    Column("share", Boolean, nullable=False),  # let others profit from my answers
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(64), primary_key=True),  # the hash of the key
    Column("name", String(200), nullable=False),
    Column("created", Float, nullable=False),
    Index(None, "name", unique=True),
)

# How much of a limit somebody has used up: until when, at the speed that is allowed.
rate_limits = Table(
    "rate_limits",
    metadata,
    Column("id", String(64), primary_key=True),  # a keyed hash of who and what
    Column("until", Float, nullable=False),
)

pools = Table(
    "pools",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("owner", String(64), nullable=True),  # None: everybody's
    Column("fingerprint", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("question", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("created", Float, nullable=False),
    Index(None, "owner", "fingerprint"),
    # One pool is kept once; but for those set apart by a word before their fingerprint (they
    # belong to one session or job), and for what was deleted a while ago.
    _unique("uq_pools_own", "owner", "fingerprint", where=f"{_PLAIN} AND owner NOT LIKE 'gone-%'"),
    _unique("uq_pools_shared", "fingerprint", where=f"{_PLAIN} AND owner IS NULL"),
)

# Pictures, decoded and encoded anew, by the hash of their content.
media = Table(
    "media",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("type", String(40), nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# A pool being made by a model.
makings = Table(
    "makings",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("request", JSON, nullable=False),
    Column("state", String(16), nullable=False),  # waiting, making, ready, failed, cancelled
    Column("made", Integer, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("note", Text, nullable=False),
    Column("arrived", JSON, nullable=False),  # the texts so far
    Column("pool_id", String(64), ForeignKey("pools.id", ondelete="SET NULL"), nullable=True),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
)

# One person over one pool.
sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("owner", String(64), nullable=False),
    _parent("pools.id"),
    Column("settings", JSON, nullable=False),
    Column("created", Float, nullable=False),
    Index(None, "owner"),
)

# What was shown, and what was told. A row is written when its screen is due and completed when it
# is answered; the answer and the next row are one transaction.
steps = Table(
    "steps",
    metadata,
    _parent("sessions.id", primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("shown", JSON, nullable=False),  # places in the pool, in the order on the page; or []
    Column("view", JSON, nullable=False),  # bound, cost, viable, best, finished: what the page told
    Column("asked", Float, nullable=False),
    Column("kind", String(16), nullable=True),
    Column("told", JSON(none_as_null=True), nullable=True),
    Column("answered", Float, nullable=True),
    Column("milliseconds", Integer, nullable=True),  # as the page measured it
    CheckConstraint("(kind IS NULL) = (answered IS NULL)", name="whole"),
)

studies = Table(
    "studies",
    metadata,
    Column("id", String(64), primary_key=True),  # the slug
    Column("design", JSON, nullable=False),
    Column("questions", JSON, nullable=False),  # each with its text, pool and personas
    Column("key", String(64), nullable=False),  # what its pseudonyms are keyed with
    Column("created", Float, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("paused", Boolean, nullable=False, server_default=false()),  # opens again later
)

participants = Table(
    "participants",
    metadata,
    Column("id", String(64), primary_key=True),  # the hash of the token in the participant's cookie
    Column("study_id", String(64), ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # 1, 2, ... within the study
    Column("source", String(16), nullable=False),  # prolific, mturk, link
    Column("worker", String(64), nullable=True),  # keyed hash of the crowd worker's id
    Column("recruitment", JSON, nullable=False),  # ids of the recruiting service, for paying
    Column("cell", Integer, nullable=False),
    Column("assignment", JSON, nullable=False),  # domain, question, method, condition, persona
    Column("session_id", String(64), ForeignKey("sessions.id", ondelete="CASCADE")),
    Column("stage", String(16), nullable=False),  # a page, query, comparisons, evaluation, done
    Column("code", String(64), nullable=True),  # the completion code, once all is answered
    Column("created", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("finished", Float, nullable=True),
    Column("outcome", String(16), nullable=True),  # completed, screened-out, ...; None: under way
    Column("language", String(16), nullable=True),  # that their pages are in
    Column("rounds", JSON(none_as_null=True), nullable=True),  # assignments, if more than one
    UniqueConstraint("study_id", "number"),
    UniqueConstraint("study_id", "worker"),
    UniqueConstraint("study_id", "code"),
    Index(None, "study_id", "cell"),
)

# When a participant entered each stage.
stages = Table(
    "stages",
    metadata,
    _parent("participants.id", primary_key=True),
    Column("stage", String(16), primary_key=True),
    Column("entered", Float, nullable=False),
)

# Stage 3: a selection against the baseline; and attention checks, wherever they stand.
matchups = Table(
    "matchups",
    metadata,
    _parent("participants.id", primary_key=True),
    Column("number", Integer, primary_key=True),  # the order on the screen
    Column("role", String(16), nullable=False),  # later, earlier, random, attention
    Column("candidate", Integer, nullable=False),  # its place in the pool
    Column("side", String(8), nullable=False),  # where the candidate stands: left or right
    Column("asked", Float, nullable=False),
    Column("chosen", String(8), nullable=True),  # left or right
    Column("answered", Float, nullable=True),
    Column("milliseconds", Integer, nullable=True),
    Column("round", Integer, nullable=False, server_default="0"),  # which of their questions
    CheckConstraint("(chosen IS NULL) = (answered IS NULL)", name="whole"),
)

# What was answered on a study's pages, and what a page's script said of the browser (page "_").
page_answers = Table(
    "page_answers",
    metadata,
    _parent("participants.id", primary_key=True),
    Column("page", String(16), primary_key=True),  # its id, with the round behind a full stop
    Column("attempt", Integer, primary_key=True),
    Column("field", String(40), primary_key=True),
    Column("value", Text, nullable=True),
    Column("answered", Float, nullable=False),
)
