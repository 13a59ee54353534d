"""The document against OpenAPI's own rules, with its operations counted and their ids compared."""

import json
import os
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator

with urllib.request.urlopen(os.environ["SWITCHBOARD_URL"] + "/openapi.json") as answer:
    document = json.load(answer)
for error in OpenAPIV31SpecValidator(document).iter_errors():
    print("error:", error.message, list(error.path))
ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
assert len(set(ids)) == len(ids), ids
print(f"valid: {document['openapi']}, {len(ids)} operations")
