# The server of jiyi, built from this checkout:
#   docker build -t jiyi .
#   docker run --rm -v jiyi:/data jiyi keys add laptop --rights read,write
#   docker run -d -p 127.0.0.1:7070:7070 -v jiyi:/data jiyi serve --host 0.0.0.0 --allow-host memory.example
# See docs/guides/operations.md.

FROM python:3.12-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/jiyi \
 && /opt/jiyi/bin/pip install --no-cache-dir ".[server,postgres,milvus,otel]"

FROM python:3.12-slim-bookworm
LABEL org.opencontainers.image.title="jiyi" \
      org.opencontainers.image.description="A memory for AI agents: MCP and REST" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 jiyi \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin jiyi \
 && mkdir -p /data /notes \
 && chown 10001:10001 /data /notes
COPY --from=build /opt/jiyi /opt/jiyi
ENV PATH=/opt/jiyi/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    JIYI_HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 7070
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7070/healthz', timeout=2)"]
ENTRYPOINT ["jiyi"]
CMD ["serve", "--host", "0.0.0.0", "--allow-host", "localhost", "--log-format", "json"]
