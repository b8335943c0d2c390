"""Studies with people: design, assignment, flow, recruitment, results and export."""

from useralign.study.design import Design, parse_design, read_design, template
from useralign.study.flow import ParticipantFlow
from useralign.study.studies import Studies, Study

__all__ = [
    "Design",
    "ParticipantFlow",
    "Studies",
    "Study",
    "parse_design",
    "read_design",
    "template",
]
