"""Engines for the tests of tables; one session of Spark for all tests of a worker."""

from tests.online.conftest import duck as duck
from tests.online.conftest import spark as spark
