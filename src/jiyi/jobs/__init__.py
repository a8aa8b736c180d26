"""Durable background work: jobs are rows, done by a thread of any process, tried again, and never lost silently."""

from jiyi.jobs.backoff import Backoff
from jiyi.jobs.worker import JobFailedError, JobRunner, JobWorker

__all__ = ["Backoff", "JobFailedError", "JobRunner", "JobWorker"]
