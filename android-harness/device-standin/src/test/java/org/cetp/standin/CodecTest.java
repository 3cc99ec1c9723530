package org.cetp.standin;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.content.ComponentName;
import android.os.Bundle;
import android.os.Parcel;
import java.util.Map;
import org.cetp.codec.BundleCodec;
import org.cetp.codec.WireException;
import org.cetp.json.Json;
import org.cetp.json.JsonException;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** Bundles to the wire's JSON and back, by way of a Parcel. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
public class CodecTest {
    private final BundleCodec codec = new BundleCodec(null);

    private static Bundle throughParcel(Bundle bundle) {
        Parcel parcel = Parcel.obtain();
        parcel.writeBundle(bundle);
        parcel.setDataPosition(0);
        return parcel.readBundle(CodecTest.class.getClassLoader());
    }

    private void assertSurvives(String value) throws JsonException, WireException {
        Map<String, Object> wire = Json.parseObject("{\"k\":" + value.replace('\'', '"') + "}", 20_000);
        assertEquals(Json.write(wire), Json.write(codec.encode(codec.decode(wire))));
        if (value.contains("-0.0")) {
            return; // Robolectric's Parcel keeps no sign of a zero; one of bytes, which a device has, does
        }
        Object back = codec.encode(throughParcel(codec.decode(wire)));
        assertEquals(Json.write(wire), Json.write(back));
    }

    @Test
    public void everyTypeComesBackAsItself() throws JsonException, WireException {
        for (String value : new String[] {
            "{'string':'x'}", "{'string':''}", "{'string':'测试 \\u0000'}", "{'int':-2147483648}", "{'long':5}",
            "{'long':'9223372036854775807'}", "{'bool':false}", "{'double':0.1}", "{'double':'NaN'}",
            "{'double':'-Infinity'}", "{'float':1.5}", "{'short':-3}", "{'byte':7}", "{'char':'x'}", "{'null':null}",
            "{'int_array':[2,1]}", "{'int_array':[]}", "{'long_array':[1,'9007199254740993']}", "{'bool_array':[true]}",
            "{'double_array':[1.5,'NaN']}", "{'string_array':['a',null]}", "{'string_list':['a']}", "{'int_list':[1,2]}",
            "{'bytes':'AAEC'}", "{'bundle':{'inner':{'int':1}}}", "{'string':{'utf16':'ANg='}}", "{'double':-0.0}",
            "{'double':4.9E-324}", "{'double':1.7976931348623157E308}", "{'float':'NaN'}", "{'float':-0.0}", "{'float':1.4E-45}",
            "{'double_array':[-0.0,'Infinity',4.9E-324]}", "{'long':'-9223372036854775808'}", "{'long':-9007199254740992}",
            "{'bytes':''}", "{'char':{'utf16':'ANg='}}", "{'char':'\\u0000'}", "{'string_array':[{'utf16':'ANw='},'']}",
            "{'string_list':[null,{'utf16':'ANg='}]}", "{'int_list':[null,1]}", "{'bundle':{}}", "{'bundle':{'':{'null':null}}}",
            "{'bundle':{'a':{'bundle':{'b':{'bytes':'/w=='}}},'\uD83D\uDE00':{'string':'\uD83D\uDE00'}}}"
        }) {
            assertSurvives(value);
        }
    }

    @Test
    public void theClassDecidesAndNotTheValue() {
        Bundle bundle = new Bundle();
        bundle.putInt("int", 2);
        bundle.putLong("long", 2);
        bundle.putString("text", "2");
        assertEquals("{\"int\":{\"int\":2},\"long\":{\"long\":2},\"text\":{\"string\":\"2\"}}", Json.write(codec.encode(bundle)));
    }

    @Test
    public void whatTheWireHasNoTypeForIsNamed() {
        Bundle bundle = new Bundle();
        bundle.putParcelable("k", new ComponentName("a", "b"));
        String wire = Json.write(codec.encode(throughParcel(bundle)));
        assertEquals("{\"k\":{\"parcelable\":{\"class\":\"android.content.ComponentName\"}}}", wire);
    }

    @Test
    public void whatIsNoValueIsRefused() throws JsonException {
        for (String value : new String[] {
            "{'int':2147483648}", "{'int':1.5}", "{'int':'1'}", "{'nothing':1}", "{}", "{'int':1,'long':1}", "{'bytes':'?'}",
            "{'bool':1}", "{'string':1}", "{'int_array':[1.5]}", "1"
        }) {
            Map<String, Object> wire = Json.parseObject("{\"k\":" + value.replace('\'', '"') + "}", 64);
            assertThrows(value, WireException.class, () -> codec.decode(wire));
        }
    }

    /** The depth of a message of the protocol; each Bundle takes two levels of it. */
    @Test
    public void deepBundlesTakeNoStack() throws Exception {
        int levels = 4_990;
        String deep = "{'bundle':{'k':".repeat(levels) + "{'int':1}" + "}}".repeat(levels);
        Map<String, Object> wire = Json.parseObject("{\"k\":" + deep.replace('\'', '"') + "}", 10_000);
        Throwable[] thrown = new Throwable[1];
        Thread small =
                new Thread(
                        null,
                        () -> {
                            try {
                                String back = Json.write(codec.encode(codec.decode(wire)));
                                assertTrue(back.length() > 10 * levels);
                            } catch (Throwable failure) {
                                thrown[0] = failure;
                            }
                        },
                        "small stack",
                        256 << 10);
        small.start();
        small.join();
        assertEquals(null, thrown[0]);
    }
}
