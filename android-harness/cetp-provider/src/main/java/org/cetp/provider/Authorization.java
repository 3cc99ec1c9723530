package org.cetp.provider;

import android.database.Cursor;
import java.util.ArrayList;
import java.util.List;

/**
 * Scopes and to whom they are granted (§7.1, §7.2). Nothing is held by default, and nothing about grants is remembered
 * between calls: a scope that is withdrawn is noticed by the next call.
 */
public final class Authorization {
    private Authorization() {}

    /** Those scopes that the caller does not hold now. A tool needs all of its scopes (§3.4). */
    static List<String> missing(Store.Transaction tx, Identity caller, List<String> scopes, long nowMs) {
        List<String> missing = new ArrayList<>();
        for (String scope : scopes) {
            if (caller.isUnknown() || !holds(tx, caller, scope, nowMs)) {
                missing.add(scope);
            }
        }
        return missing;
    }

    private static boolean holds(Store.Transaction tx, Identity caller, String scope, long nowMs) {
        String sql = "SELECT granted, expires_ms FROM grants WHERE identity = ? AND scope = ?";
        try (Cursor row = tx.query(sql, caller.key(), scope)) {
            return row.moveToFirst() && row.getInt(0) == 1 && (row.isNull(1) || nowMs < row.getLong(1));
        }
    }

    /** Grants a scope, until a time or, with null, for good. */
    public static void grant(Store.Transaction tx, Identity caller, String scope, Long expiresMs) {
        grant(tx, caller.key(), scope, expiresMs);
    }

    static void grant(Store.Transaction tx, String identity, String scope, Long expiresMs) {
        tx.update("INSERT OR REPLACE INTO grants VALUES (?, ?, 1, ?)", identity, scope, expiresMs);
    }

    /** Grants a scope to an identity about which nothing has been decided; a withdrawal stands against it. */
    public static void grantToNewcomer(Store.Transaction tx, Identity caller, String scope) {
        tx.update("INSERT OR IGNORE INTO grants VALUES (?, ?, 1, NULL)", caller.key(), scope);
    }

    public static void withdraw(Store.Transaction tx, Identity caller, String scope) {
        tx.update("INSERT OR REPLACE INTO grants VALUES (?, ?, 0, NULL)", caller.key(), scope);
    }
}
