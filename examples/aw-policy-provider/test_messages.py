"""The suite's table of requests, against the reader of this provider: python3 test_messages.py

It shows how a table is used from another language. A digest is not verified here, which the protocol leaves free.
"""

import base64
import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True

from messages import Invalid, check_request, read  # noqa: E402

TABLES = pathlib.Path(__file__).parents[2] / "vectors/aw-provider-v1alpha1/tables"


def content(case):
    if "text" in case:
        return case["text"].encode()
    if "base64" in case:
        return base64.b64decode(case["base64"])
    parts = (part if isinstance(part, str) else part["repeat"] * part["times"] for part in case["parts"])
    return "".join(parts).encode()


class Requests(unittest.TestCase):
    def test_table(self):
        cases = json.loads((TABLES / "requests.json").read_text(encoding="utf-8"))["cases"]
        self.assertGreater(len(cases), 100)
        for case in cases:
            with self.subTest(case["name"]):
                try:
                    check_request(read(content(case)))
                    refused = False
                except Invalid:
                    refused = True
                self.assertEqual(refused, case["refused_by"] not in (None, "digest"))


if __name__ == "__main__":
    unittest.main()
