"""The evaluation: plans, a runner, tables, figures and the report."""
