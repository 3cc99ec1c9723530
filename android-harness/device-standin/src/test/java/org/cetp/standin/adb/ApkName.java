package org.cetp.standin.adb;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/** The package that an APK contains, from its compiled manifest. */
final class ApkName {
    private static final int STRING_POOL = 0x0001;
    private static final int START_ELEMENT = 0x0102;
    private static final int UTF8_FLAG = 1 << 8;

    private ApkName() {}

    /** Null where it is no APK, or its manifest cannot be read. */
    static String of(byte[] apk) {
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(apk))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                if (entry.getName().equals("AndroidManifest.xml")) {
                    return packageOf(ByteBuffer.wrap(zip.readAllBytes()).order(ByteOrder.LITTLE_ENDIAN));
                }
            }
        } catch (IOException | RuntimeException noApk) {
            return null;
        }
        return null;
    }

    /** The attribute {@code package} of the first element. Every chunk begins with its type, header size and size. */
    private static String packageOf(ByteBuffer xml) {
        int pool = 0;
        for (int at = xml.getShort(2); at < xml.limit(); at += xml.getInt(at + 4)) {
            int type = xml.getShort(at);
            if (type == STRING_POOL) {
                pool = at;
            } else if (type == START_ELEMENT) {
                int attributes = at + 16 + xml.getShort(at + 24);
                for (int i = 0; i < xml.getShort(at + 28); i++) {
                    int attribute = attributes + i * xml.getShort(at + 26);
                    if (string(xml, pool, xml.getInt(attribute + 4)).equals("package")) {
                        return string(xml, pool, xml.getInt(attribute + 8));
                    }
                }
                return null;
            }
        }
        return null;
    }

    private static String string(ByteBuffer xml, int pool, int index) {
        if (index < 0) {
            return "";
        }
        int at = pool + xml.getInt(pool + 20) + xml.getInt(pool + xml.getShort(pool + 2) + 4 * index);
        boolean utf8 = (xml.getInt(pool + 16) & UTF8_FLAG) != 0;
        // Before the text its length, in a short or, in UTF-8, in two bytes (characters, then bytes).
        int length = utf8 ? xml.get(at + 1) : 2 * xml.getShort(at);
        byte[] bytes = new byte[length];
        xml.get(at + 2, bytes);
        return new String(bytes, utf8 ? StandardCharsets.UTF_8 : StandardCharsets.UTF_16LE);
    }
}
