"""OpenTelemetry: spans and metrics of runs, sent over OTLP."""
