"""The pipeline around the library: planning, jobs, status, forecast, archive and provenance."""
