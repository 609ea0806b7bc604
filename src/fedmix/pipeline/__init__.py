"""The pipeline around the library: plan, costs, jobs, evidence, status, forecast and provenance."""
