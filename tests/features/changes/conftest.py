"""The worker, the web and the database of the tests of a crawl."""

from tests.crawl.conftest import engine as engine
from tests.crawl.conftest import make as make
from tests.crawl.conftest import web as web
from tests.crawl.conftest import worker as worker
