"""Validates a report's JUnit XML and CTRF JSON against the schemas of others: `schemas.py JUNIT.xml CTRF.json`.

junit-10.xsd is that of Jenkins' xUnit plugin. It knows neither properties of a test case nor a count of skipped cases on the
root, both of which servers read; so the XML is validated twice: with the schema as it is after these are taken out, and
whole with a schema that has them.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as xml

import jsonschema
import xmlschema

here = pathlib.Path(__file__).parent / "schemas"
junit, ctrf = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

text = (here / "junit-10.xsd").read_text()
case = '<xs:element ref="skipped"/>'
root = '<xs:attribute name="tests" type="xs:string" />'
assert text.count(case) == 1 and text.count(root) == 1, "the schema is another one than was thought"
extended = text.replace(case, case + '<xs:element ref="properties"/>')
extended = extended.replace(root, root + '<xs:attribute name="skipped" type="xs:string" />')
xmlschema.XMLSchema(extended).validate(str(junit))

tree = xml.parse(junit)
del tree.getroot().attrib["skipped"]
cases = list(tree.iter("testcase"))
assert cases and all(case.get("classname") for case in cases)
for element in cases:
    names = {entry.get("name") for entry in element.iter("property")}
    assert {"vector", "outcome", "requirement"} <= names, names
    for properties in element.findall("properties"):
        element.remove(properties)
xmlschema.XMLSchema(text).validate(tree)

schema = json.loads((here / "ctrf-schema-0.0.json").read_text())
report = json.loads(ctrf.read_text())
jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(report)
summary = report["results"]["summary"]
assert summary["tests"] == len(report["results"]["tests"]) == len(cases)
print(f"the JUnit XML and the CTRF of {len(cases)} vectors fit their schemas")
