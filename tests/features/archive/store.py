"""An S3-compatible store on loopback: moto's server, whose buckets outlast a stop."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.store import S3Store

if TYPE_CHECKING:
    from moto.server import ThreadedMotoServer

BUCKET = "tiptoe-archive"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class ObjectStore:
    """The store, which may stop and go on at the same port.   url: of the archive in it"""

    url = f"s3://{BUCKET}/crawls"

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._server: ThreadedMotoServer | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        from moto.server import ThreadedMotoServer  # a quarter of a second, which most processes of the tests can spare

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None

    def names(self) -> list[str]:
        store = S3Store(BUCKET, endpoint=self.endpoint, client_options={"allow_http": True})
        return sorted(each["path"] for page in obstore.list(store) for each in page)


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A store with an empty bucket, and an environment that leads to it."""
    import boto3

    store = ObjectStore()
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": store.endpoint}.items():
        monkeypatch.setenv(name, value)
    store.start()
    try:
        bucket = boto3.resource("s3", endpoint_url=store.endpoint, region_name="us-east-1").Bucket(BUCKET)
        bucket.create()
        bucket.objects.all().delete()
        yield store
    finally:
        store.stop()
    assert os.environ["AWS_ENDPOINT_URL"] == store.endpoint
