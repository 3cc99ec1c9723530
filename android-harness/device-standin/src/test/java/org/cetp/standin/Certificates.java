package org.cetp.standin;

import android.content.pm.Signature;
import android.content.pm.SigningInfo;
import java.nio.charset.StandardCharsets;
import org.cetp.provider.Hashing;
import org.robolectric.shadow.api.Shadow;
import org.robolectric.shadows.ShadowSigningInfo;

/** Certificates for packages of the stand-in. To the package manager a certificate is bytes; nothing looks into them. */
final class Certificates {
    private Certificates() {}

    static Signature certificate(String owner) {
        return new Signature(("certificate of " + owner).getBytes(StandardCharsets.UTF_8));
    }

    static String sha256(String owner) {
        return Hashing.sha256(certificate(owner).toByteArray());
    }

    /** @param past earlier owners of a rotated key, the first one first */
    static SigningInfo signedBy(String owner, String... past) {
        SigningInfo info = Shadow.newInstanceOf(SigningInfo.class);
        ShadowSigningInfo shadow = Shadow.extract(info);
        shadow.setSignatures(new Signature[] {certificate(owner)});
        if (past.length > 0) {
            Signature[] history = new Signature[past.length + 1];
            for (int i = 0; i < past.length; i++) {
                history[i] = certificate(past[i]);
            }
            history[past.length] = certificate(owner);
            shadow.setPastSigningCertificates(history);
        }
        return info;
    }
}
