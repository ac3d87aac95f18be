"""The directory of public keys, and the signatures on it."""

import json
from typing import Any

import pytest
from http_message_signatures import HTTPMessageSignaturesException

from app.net.signature import directory, directory_body, directory_fields
from tests.net.signature_rows import AGENT, THUMBPRINT
from tests.net.signed import OWN_KEY, TEST_KEY, Answered, Asked, verify

DIRECTORY_TAG = "http-message-signatures-directory"
DIRECTORY_URL = f"{AGENT}/.well-known/http-message-signatures-directory"


def test_the_directory_names_public_keys_by_their_thumbprint() -> None:
    found = directory([TEST_KEY.public_key()])
    assert found == {
        "keys": [
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
                "kid": THUMBPRINT,
                "use": "sig",
            }
        ]
    }


def signed_directory(*keys: Any, authority: str = "bot.example.org") -> tuple[dict[str, str], bytes]:
    body = directory_body(key.public_key() for key in keys)
    return directory_fields(keys, authority, body), body


def test_the_directory_is_signed_by_each_key_in_it() -> None:
    fields, body = signed_directory(OWN_KEY, TEST_KEY)
    assert fields["Content-Type"] == "application/http-message-signatures-directory+json"
    found = verify(
        Answered(fields, Asked(DIRECTORY_URL, {})),
        OWN_KEY,
        TEST_KEY,
        tag=DIRECTORY_TAG,
        body=body,
        require_components=['"@authority";req'],
    )
    assert [each.parameters["keyid"] for each in found] == [key["kid"] for key in json.loads(body)["keys"]]
    fresh_s = int(fields["Cache-Control"].removeprefix("max-age="))
    assert all(each.parameters["expires"] - each.parameters["created"] > 2 * fresh_s for each in found)


@pytest.mark.parametrize(
    ("url", "body"), [(DIRECTORY_URL.replace(".org", ".net"), None), (DIRECTORY_URL, b'{"keys": []}')]
)
def test_a_directory_shown_as_that_of_another_does_not_verify(url: str, body: bytes | None) -> None:
    fields, own = signed_directory(OWN_KEY)
    with pytest.raises(HTTPMessageSignaturesException):
        verify(Answered(fields, Asked(url, {})), OWN_KEY, tag=DIRECTORY_TAG, body=own if body is None else body)
