"""The pipeline around the library: plan, costs, jobs, status, forecast, archive and provenance."""
