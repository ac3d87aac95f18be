"""The web process: `python -m app.web`. Settings come from the environment, as those of beat and workers."""

import sys

from app.config import load
from app.errors import InputError, ServiceError, TiptoeError
from app.log import configure
from app.web.app import serve


def main() -> None:
    """Serve until a signal. Exit 2: bad input; 1: a service."""
    try:
        settings = load()
        configure(settings.log_format, settings.log_level)
        if settings.database_url is None:
            raise ServiceError("TIPTOE_DATABASE_URL is not set", "set it, or start the dashboard with `tiptoe web`")
        serve(settings)
    except TiptoeError as error:
        sys.stderr.write(f"tiptoe: {' '.join(str(error).split())}\n")
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
