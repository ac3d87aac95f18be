"""What a server is told of our environment, and what the recipe may not say."""

import json

from app.local.supervisor import Recipe, server_environment


def test_environment_that_would_change_the_server_is_dropped() -> None:
    given = {
        "PGDATA": "/elsewhere",
        "PGPORT": "1",
        "LC_MESSAGES": "de_DE",
        "LANG": "x",
        "PATH": "/bin",
        "PYTHONPATH": "y",
    }
    assert server_environment(given) == {"PATH": "/bin", "LC_ALL": "C"}


def test_recipe_survives_the_command_line() -> None:
    recipe = Recipe(
        argv=("/bin/true", "-D", "/a b"),
        cwd="/",
        user=None,
        group=None,
        stop_signal=2,
        stop_s=1.0,
        log="/l",
        users="/u",
        keeper="/k",
    )
    again = Recipe(**json.loads(recipe.to_json()))
    assert (list(again.argv), again.stop_s) == (["/bin/true", "-D", "/a b"], 1.0)
