package org.cetp.consumer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.junit.Test;

public class SchemaTest {
    private static Schema schema(String text) throws JsonException {
        return Schema.of(Json.parse(text.replace('\'', '"'), 64));
    }

    private static boolean conforms(String schema, String value) throws JsonException {
        Schema compiled = schema(schema);
        Object parsed = Json.parse(value.replace('\'', '"'), 64);
        try {
            compiled.check(parsed);
            return true;
        } catch (JsonException no) {
            assertEquals("it does not conform to its schema", no.getMessage());
            return false;
        }
    }

    private static void assertOnly(String schema, String good, String bad) throws JsonException {
        assertTrue(schema + " takes " + good, conforms(schema, good));
        assertTrue(schema + " refuses " + bad, !conforms(schema, bad));
    }

    private static void assertRefused(String schema) {
        assertThrows(schema, JsonException.class, () -> schema(schema));
    }

    @Test
    public void eachKeywordTakesAndRefuses() throws JsonException {
        assertOnly("{'type':'integer'}", "5.0", "5.5");
        assertOnly("{'type':['null','string']}", "null", "1");
        assertOnly("{'const':{'a':[1,2.0]}}", "{'a':[1.0,2]}", "{'a':[1]}");
        assertOnly("{'enum':[1,'x',null]}", "null", "false");
        assertOnly("{'minimum':1,'exclusiveMaximum':2}", "1", "2");
        assertOnly("{'multipleOf':0.1}", "1.3", "1.35");
        assertOnly("{'minLength':2,'maxLength':2}", "'\\ud83d\\ude00x'", "'x'");
        assertOnly("{'pattern':'^[a-z]+$'}", "'abc'", "'aBc'");
        assertOnly("{'minItems':1,'uniqueItems':true}", "[1,'1',{}]", "[{'a':1},{'a':1.0}]");
        assertOnly("{'prefixItems':[{'type':'string'}],'items':{'type':'integer'}}", "['x',1]", "['x','y']");
        assertOnly("{'contains':{'const':1},'minContains':2,'maxContains':3}", "[1,0,1]", "[1,0]");
        assertOnly("{'properties':{'a':{'type':'string'}},'additionalProperties':false}", "{'a':'x'}", "{'b':1}");
        assertOnly("{'patternProperties':{'^n_':{'type':'integer'}}}", "{'n_a':1,'x':'y'}", "{'n_a':'y'}");
        assertOnly("{'propertyNames':{'maxLength':1}}", "{'a':1}", "{'ab':1}");
        assertOnly("{'required':['a'],'dependentRequired':{'a':['b']}}", "{'a':1,'b':2}", "{'a':1}");
        assertOnly("{'dependentSchemas':{'a':{'required':['b']}}}", "{'b':1}", "{'a':1}");
        assertOnly("{'minProperties':1,'maxProperties':1}", "{'a':1}", "{}");
        assertOnly("{'allOf':[{'minimum':1},{'maximum':2}]}", "2", "3");
        assertOnly("{'anyOf':[{'type':'null'},{'minimum':5}]}", "5", "4");
        assertOnly("{'oneOf':[{'multipleOf':2},{'multipleOf':3}]}", "4", "6");
        assertOnly("{'not':{'type':'null'}}", "1", "null");
        assertOnly("{'if':{'minimum':10},'then':{'multipleOf':10},'else':{'maximum':5}}", "20", "7");
        assertOnly("{'$defs':{'x /y':{'type':'string'}},'items':{'$ref':'#/$defs/x%20~1y'}}", "['a']", "[1]");
        assertOnly("{'$defs':{'n':{'$anchor':'n','type':'null'}},'$ref':'#n'}", "null", "1");
        assertOnly("{'properties':{'next':{'$ref':'#'}},'required':['v']}", "{'v':1,'next':{'v':2}}", "{'v':1,'next':{}}");
    }

    @Test
    public void unevaluatedKnowsWhatOthersLookedAt() throws JsonException {
        String members = "{'anyOf':[{'properties':{'a':true},'required':['a']},{'properties':{'b':true}}],'unevaluatedProperties':false}";
        assertOnly(members, "{'a':1,'b':2}", "{'a':1,'c':2}");
        assertOnly("{'not':{'not':{'properties':{'a':true}}},'unevaluatedProperties':false}", "{}", "{'a':1}");
        assertOnly("{'prefixItems':[true],'contains':{'const':9},'unevaluatedItems':false}", "[1,9]", "[1,9,2]");
    }

    @Test
    public void referencesStayInTheDocument() {
        for (String reference : new String[] {"https://example.com/s", "other.json", "//h/s", "file:///etc/passwd", "", "#/no", "#no"}) {
            assertRefused("{'items':{'$ref':'" + reference + "'}}");
        }
        assertRefused("{'items':{'$id':'https://example.com/inner'}}");
        assertRefused("{'$schema':'http://json-schema.org/draft-07/schema#'}");
    }

    @Test
    public void whatIsNoSchemaIsRefused() {
        for (String schema : new String[] {
            "null", "[]", "'x'", "{'items':null}", "{'type':'text'}", "{'minLength':-1}", "{'required':'a'}", "{'pattern':'('}",
            "{'multipleOf':0}", "{'allOf':{}}", "{'maximum':'1'}"
        }) {
            assertRefused(schema);
        }
    }

    /** Each of these would take years. */
    @Test(timeout = 60_000)
    public void workIsBounded() throws JsonException {
        StringBuilder chain = new StringBuilder("{'$ref':'#/$defs/a0','$defs':{");
        for (int i = 0; i < 40; i++) {
            String next = "{'$ref':'#/$defs/a" + (i + 1) + "'}";
            chain.append("'a").append(i).append("':{'allOf':[").append(next).append(',').append(next).append("]},");
        }
        assertTooMuch(chain.append("'a40':{}}}").toString(), "1");
        assertTooMuch("{'$ref':'#'}", "1");
        assertTooMuch("{'pattern':'(x{900}){20}'}", "'" + "x".repeat(8_000) + "b'");
        assertTooMuch("{'multipleOf':3}", "1e1000000000");
    }

    private static void assertTooMuch(String schema, String value) throws JsonException {
        Schema compiled = schema(schema);
        Object parsed = Json.parse(value.replace('\'', '"'), 64);
        JsonException endless = assertThrows(JsonException.class, () -> compiled.check(parsed));
        assertEquals("checking it would take too long", endless.getMessage());
    }
}
