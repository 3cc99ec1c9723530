package org.cetp.codec;

import android.app.PendingIntent;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A Bundle as the wire's object from key to typed value, and back.
 *
 * <p>The type is that of the value's class. The getters of Bundle would not do: {@code getLong} on an Int gives 0 and a
 * line in the log, so the difference that a test is after would be gone. Bundles inside Bundles are worked off a list and
 * not by recursion, so that their depth costs no stack.
 */
public final class BundleCodec {
    private final Handles handles;

    public BundleCodec(Handles handles) {
        this.handles = handles;
    }

    // --- to the wire ---

    /** A Bundle and the object that it becomes. */
    private static final class Encoding {
        final Bundle from;
        final Map<String, Object> to = new LinkedHashMap<>();

        Encoding(Bundle from) {
            this.from = from;
        }
    }

    /** The wire's form of a Bundle; of null it is null. Keys come in the order of the alphabet. */
    public Map<String, Object> encode(Bundle bundle) {
        if (bundle == null) {
            return null;
        }
        Encoding root = new Encoding(bundle);
        Deque<Encoding> waiting = new ArrayDeque<>();
        waiting.push(root);
        while (!waiting.isEmpty()) {
            Encoding work = waiting.pop();
            List<String> keys = new ArrayList<>(work.from.keySet());
            Collections.sort(keys, NULL_FIRST);
            for (String key : keys) {
                // A null key is legal in a Bundle and cannot be said in JSON; nobody uses one.
                work.to.put(key == null ? "" : key, encodeValue(valueOf(work.from, key), waiting));
            }
        }
        return root.to;
    }

    private static final java.util.Comparator<String> NULL_FIRST =
            new java.util.Comparator<String>() {
                @Override
                public int compare(String one, String other) {
                    return one == null || other == null ? (one == null ? -1 : 0) - (other == null ? -1 : 0) : one.compareTo(other);
                }
            };

    /** Stands for what could not be read because its class is not here. */
    private static final Object UNREADABLE = new Object();

    @SuppressWarnings("deprecation") // the typed getters are what must not be used here
    private static Object valueOf(Bundle bundle, String key) {
        try {
            return bundle.get(key);
        } catch (RuntimeException unknownClass) {
            return UNREADABLE;
        }
    }

    private Map<String, Object> encodeValue(Object value, Deque<Encoding> waiting) {
        if (value == null) {
            return typed("null", null);
        } else if (value instanceof String) {
            return typed("string", WireScalar.ofText((String) value));
        } else if (value instanceof Integer) {
            return typed("int", value);
        } else if (value instanceof Long) {
            return typed("long", WireScalar.ofLong((Long) value));
        } else if (value instanceof Boolean) {
            return typed("bool", value);
        } else if (value instanceof Double) {
            return typed("double", WireScalar.ofDouble((Double) value));
        } else if (value instanceof Float) {
            return typed("float", WireScalar.ofFloat((Float) value));
        } else if (value instanceof Short) {
            return typed("short", (int) (Short) value);
        } else if (value instanceof Byte) {
            return typed("byte", (int) (Byte) value);
        } else if (value instanceof Character) {
            return typed("char", WireScalar.ofText(value.toString()));
        } else if (value instanceof Bundle) {
            Encoding inner = new Encoding((Bundle) value);
            waiting.push(inner);
            return typed("bundle", inner.to);
        } else if (value instanceof PendingIntent) {
            return typed("pending_intent", handles.keep((PendingIntent) value));
        } else if (value instanceof ParcelFileDescriptor) {
            return typed("fd", handles.keep((ParcelFileDescriptor) value));
        } else if (value instanceof byte[]) {
            return typed("bytes", WireScalar.ofBytes((byte[]) value));
        }
        Map<String, Object> several = encodeSeveral(value);
        if (several != null) {
            return several;
        }
        String name = value == UNREADABLE ? "unreadable" : value.getClass().getName();
        return typed("parcelable", typed("class", name));
    }

    /** Arrays and ArrayLists of what the wire has a name for; null for everything else. */
    private static Map<String, Object> encodeSeveral(Object value) {
        List<Object> items = new ArrayList<>();
        if (value instanceof int[]) {
            for (int item : (int[]) value) {
                items.add(item);
            }
            return typed("int_array", items);
        } else if (value instanceof long[]) {
            for (long item : (long[]) value) {
                items.add(WireScalar.ofLong(item));
            }
            return typed("long_array", items);
        } else if (value instanceof boolean[]) {
            for (boolean item : (boolean[]) value) {
                items.add(item);
            }
            return typed("bool_array", items);
        } else if (value instanceof double[]) {
            for (double item : (double[]) value) {
                items.add(WireScalar.ofDouble(item));
            }
            return typed("double_array", items);
        } else if (value instanceof String[]) {
            for (String item : (String[]) value) {
                items.add(item == null ? null : WireScalar.ofText(item));
            }
            return typed("string_array", items);
        } else if (value instanceof ArrayList) {
            return encodeList((ArrayList<?>) value);
        }
        return null;
    }

    /** A list without any value that tells its type counts as one of texts. */
    private static Map<String, Object> encodeList(ArrayList<?> list) {
        boolean texts = true;
        boolean ints = true;
        List<Object> items = new ArrayList<>();
        for (Object item : list) {
            texts &= item == null || item instanceof String;
            ints &= item == null || item instanceof Integer;
            items.add(item instanceof String ? WireScalar.ofText((String) item) : item);
        }
        return texts ? typed("string_list", items) : ints ? typed("int_list", items) : null;
    }

    private static Map<String, Object> typed(String type, Object value) {
        Map<String, Object> typed = new LinkedHashMap<>();
        typed.put(type, value);
        return typed;
    }

    // --- from the wire ---

    /** An object of the wire and the Bundle that it becomes. */
    private static final class Decoding {
        final Map<?, ?> from;
        final Bundle to = new Bundle();

        Decoding(Map<?, ?> from) {
            this.from = from;
        }
    }

    /** The Bundle of a wire's object; of null it is null. */
    public Bundle decode(Object wire) throws WireException {
        if (wire == null) {
            return null;
        }
        Decoding root = new Decoding(object(wire));
        Deque<Decoding> waiting = new ArrayDeque<>();
        waiting.push(root);
        while (!waiting.isEmpty()) {
            Decoding work = waiting.pop();
            for (Map.Entry<?, ?> member : work.from.entrySet()) {
                Map<String, Object> typed = object(member.getValue());
                if (typed.size() != 1) {
                    throw new WireException("a value has one member, which names its type");
                }
                Map.Entry<String, Object> only = typed.entrySet().iterator().next();
                try {
                    put(work.to, (String) member.getKey(), only.getKey(), only.getValue(), waiting);
                } catch (WireException wrong) {
                    throw new WireException(member.getKey() + ": " + wrong.getMessage());
                }
            }
        }
        return root.to;
    }

    private void put(Bundle to, String key, String type, Object value, Deque<Decoding> waiting) throws WireException {
        switch (type) {
            case "string":
                to.putString(key, WireScalar.toText(value));
                return;
            case "int":
                to.putInt(key, (int) WireScalar.toWhole(value, Integer.MIN_VALUE, Integer.MAX_VALUE));
                return;
            case "long":
                to.putLong(key, WireScalar.toLong(value));
                return;
            case "bool":
                to.putBoolean(key, WireScalar.toBool(value));
                return;
            case "double":
                to.putDouble(key, WireScalar.toDouble(value));
                return;
            case "float":
                to.putFloat(key, WireScalar.toFloat(value));
                return;
            case "short":
                to.putShort(key, (short) WireScalar.toWhole(value, Short.MIN_VALUE, Short.MAX_VALUE));
                return;
            case "byte":
                to.putByte(key, (byte) WireScalar.toWhole(value, Byte.MIN_VALUE, Byte.MAX_VALUE));
                return;
            case "char":
                to.putChar(key, WireScalar.toChar(value));
                return;
            case "null":
                to.putString(key, null);
                return;
            case "bytes":
                to.putByteArray(key, WireScalar.toBytes(value));
                return;
            case "bundle":
                Decoding inner = new Decoding(object(value));
                to.putBundle(key, inner.to);
                waiting.push(inner);
                return;
            case "pending_intent":
                to.putParcelable(key, handles.pendingIntent(object(value)));
                return;
            case "fd":
                to.putParcelable(key, handles.descriptor(object(value)));
                return;
            default:
                putSeveral(to, key, type, list(value));
        }
    }

    private static void putSeveral(Bundle to, String key, String type, List<?> items) throws WireException {
        int n = items.size();
        switch (type) {
            case "int_array":
                int[] ints = new int[n];
                for (int i = 0; i < n; i++) {
                    ints[i] = (int) WireScalar.toWhole(items.get(i), Integer.MIN_VALUE, Integer.MAX_VALUE);
                }
                to.putIntArray(key, ints);
                return;
            case "long_array":
                long[] longs = new long[n];
                for (int i = 0; i < n; i++) {
                    longs[i] = WireScalar.toLong(items.get(i));
                }
                to.putLongArray(key, longs);
                return;
            case "bool_array":
                boolean[] bools = new boolean[n];
                for (int i = 0; i < n; i++) {
                    bools[i] = WireScalar.toBool(items.get(i));
                }
                to.putBooleanArray(key, bools);
                return;
            case "double_array":
                double[] doubles = new double[n];
                for (int i = 0; i < n; i++) {
                    doubles[i] = WireScalar.toDouble(items.get(i));
                }
                to.putDoubleArray(key, doubles);
                return;
            case "string_array":
                to.putStringArray(key, texts(items).toArray(new String[0]));
                return;
            case "string_list":
                to.putStringArrayList(key, texts(items));
                return;
            case "int_list":
                ArrayList<Integer> list = new ArrayList<>();
                for (Object item : items) {
                    list.add(item == null ? null : (int) WireScalar.toWhole(item, Integer.MIN_VALUE, Integer.MAX_VALUE));
                }
                to.putIntegerArrayList(key, list);
                return;
            default:
                throw new WireException("there is no type " + type);
        }
    }

    private static ArrayList<String> texts(List<?> items) throws WireException {
        ArrayList<String> texts = new ArrayList<>();
        for (Object item : items) {
            texts.add(item == null ? null : WireScalar.toText(item));
        }
        return texts;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object wire) throws WireException {
        if (wire instanceof Map) {
            return (Map<String, Object>) wire;
        }
        throw new WireException("no object");
    }

    private static List<?> list(Object wire) throws WireException {
        if (wire instanceof List) {
            return (List<?>) wire;
        }
        throw new WireException("no list, or a type that there is not");
    }
}
