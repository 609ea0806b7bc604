"""The pipeline around the library: planning, costs, jobs, status, forecast, archive and provenance."""
