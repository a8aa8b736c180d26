"""Tracing: a span of OpenTelemetry for each request (extra `jiyi[otel]`), imported only where it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from opentelemetry.trace import Span, TracerProvider

_FAILED: Final = 500


class Tracing:
    """Makes spans with a provider. A trace that the caller has begun goes on."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("jiyi.server")
        self._kind = SpanKind.SERVER
        self._error = Status(StatusCode.ERROR)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, scope: MutableMapping[str, Any]) -> Span:
        """A request has come."""
        names = (b"traceparent", b"tracestate")
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in names}
        context = self._propagator.extract(headers)
        return self._tracer.start_span(str(scope["method"]), context=context, kind=self._kind)

    def end(self, span: Span, route: str, status: int, key_id: str, request_id: str) -> None:
        """It is answered. The route stands in the span, never the path or a text."""
        span.update_name(f"{getattr(span, 'name', 'HTTP')} {route}")
        span.set_attributes(
            {
                "http.request.method": str(getattr(span, "name", "")).partition(" ")[0],
                "http.route": route,
                "http.response.status_code": status,
                "jiyi.key_id": key_id,
                "jiyi.request_id": request_id,
            }
        )
        if status >= _FAILED:
            span.set_status(self._error)
        span.end()

    def close(self) -> None:
        """Send what is left."""
        shutdown = getattr(self._provider, "shutdown", None)
        if shutdown is not None:
            shutdown()


def open_tracing() -> Tracing:
    """Spans for a collector that speaks OTLP over HTTP; where it is say the usual variables `OTEL_EXPORTER_OTLP_*`."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as SdkProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingDependencyError(
            f"--otel needs {error.name or 'opentelemetry'}, which is not installed: pip install 'jiyi[otel]'"
        ) from error
    provider = SdkProvider(resource=Resource.create({"service.name": "jiyi"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
