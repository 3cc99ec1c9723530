package org.cetp.provider;

import android.content.Context;
import android.database.Cursor;
import android.database.sqlite.SQLiteDatabase;
import android.database.sqlite.SQLiteOpenHelper;
import android.database.sqlite.SQLiteStatement;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What survives the provider's process: one SQLite database, one transaction at a time.
 *
 * <p>§4.4 and §6 want deduplication and operations durable, §10 wants the reservation, the business change and the stored
 * result "in one reliable boundary". Here that boundary is literally one transaction, so a process that is killed at any
 * moment leaves all of it or nothing. It is also what makes one of several identical requests the executor: whoever is
 * inside looks first, and nobody else can come between the look and the effect.
 *
 * <p>The journal is one that is synced at each commit, so a commit survives the loss of power as well. Android 9 and 10
 * would otherwise take a write-ahead log by themselves, and sync that only now and then.
 */
public final class Store {
    /** The protocol's tables. The database belongs to one provider_id, which is part of every key without a column. */
    private static final String[] TABLES = {
        // §6: what was asked for under a request_id, and what became of it; §4.4: its operation, if it has one.
        "CREATE TABLE executions ("
                + "uid INTEGER NOT NULL, request_id TEXT NOT NULL,"
                + "tool TEXT NOT NULL, args_sha256 TEXT NOT NULL, arrived_ms INTEGER NOT NULL,"
                + "state TEXT NOT NULL, outcome TEXT, error TEXT,"
                + "operation_id TEXT UNIQUE, args TEXT, held INTEGER NOT NULL DEFAULT 0,"
                + "PRIMARY KEY (uid, request_id))",
        // The value of a success, in pieces that fit into a Cursor's window.
        "CREATE TABLE result_pieces ("
                + "uid INTEGER NOT NULL, request_id TEXT NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL,"
                + "PRIMARY KEY (uid, request_id, piece))",
        // §4.3: what the user was asked, and what was answered.
        "CREATE TABLE confirmations ("
                + "id INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, identity TEXT NOT NULL,"
                + "request_id TEXT NOT NULL, tool TEXT NOT NULL, args_sha256 TEXT NOT NULL, is_write INTEGER NOT NULL,"
                + "need TEXT NOT NULL, scopes TEXT NOT NULL, texts TEXT NOT NULL,"
                + "token TEXT NOT NULL UNIQUE, state TEXT NOT NULL, expires_ms INTEGER NOT NULL)",
        "CREATE INDEX confirmations_of ON confirmations (uid, request_id)",
        // §7.1: granted = 0 is a withdrawal.
        "CREATE TABLE grants ("
                + "identity TEXT NOT NULL, scope TEXT NOT NULL, granted INTEGER NOT NULL, expires_ms INTEGER,"
                + "PRIMARY KEY (identity, scope))",
        // §7.2: no arguments and no results.
        "CREATE TABLE audit ("
                + "id INTEGER PRIMARY KEY, caller_uid INTEGER NOT NULL, tool TEXT, request_id TEXT,"
                + "decision TEXT NOT NULL, result TEXT NOT NULL)",
    };

    private static final String[] TABLE_NAMES = {"executions", "result_pieces", "confirmations", "grants", "audit"};

    private final SQLiteDatabase db;
    private final ReentrantLock alone = new ReentrantLock();

    /** Opens the database of this name, with the protocol's tables and the app's own. */
    Store(Context context, String name, final String[] appTables) {
        SQLiteOpenHelper helper =
                new SQLiteOpenHelper(context, name, null, 1) {
                    @Override
                    public void onCreate(SQLiteDatabase created) {
                        for (String sql : TABLES) {
                            created.execSQL(sql);
                        }
                        for (String sql : appTables) {
                            created.execSQL(sql);
                        }
                    }

                    @Override
                    public void onUpgrade(SQLiteDatabase old, int from, int to) {
                        throw new IllegalStateException("there has been no other version yet");
                    }
                };
        helper.setWriteAheadLoggingEnabled(false);
        db = helper.getWritableDatabase();
    }

    /** Waits until nobody else is inside. Leaving without {@link Transaction#commit} undoes everything. */
    public Transaction begin() {
        alone.lock();
        try {
            db.beginTransaction();
        } catch (RuntimeException | Error failure) {
            alone.unlock();
            throw failure;
        }
        return new Transaction();
    }

    /** Waits for a transaction that is under way; whatever comes later fails. */
    void close() {
        alone.lock();
        try {
            db.close();
        } finally {
            alone.unlock();
        }
    }

    /** Everything that was read inside is still true when something is written, and all that is written is or is not. */
    public final class Transaction implements AutoCloseable {
        private Transaction() {}

        /** For an app's own tables in this database. */
        public SQLiteDatabase db() {
            return db;
        }

        /** Runs a statement; the number of rows that it changed. */
        public int update(String sql, Object... values) {
            try (SQLiteStatement statement = bound(sql, values)) {
                return statement.executeUpdateDelete();
            }
        }

        /** Inserts a row; its rowid. */
        public long insert(String sql, Object... values) {
            try (SQLiteStatement statement = bound(sql, values)) {
                return statement.executeInsert();
            }
        }

        /**
         * Rows. Parameters of a query are bound as text, so they have to be compared with columns, whose type SQLite then
         * applies, and not with expressions.
         */
        public Cursor query(String sql, Object... values) {
            String[] texts = new String[values.length];
            for (int i = 0; i < values.length; i++) {
                texts[i] = String.valueOf(values[i]);
            }
            return db.rawQuery(sql, texts);
        }

        public boolean exists(String sql, Object... values) {
            try (Cursor rows = query(sql, values)) {
                return rows.moveToFirst();
            }
        }

        public void commit() {
            db.setTransactionSuccessful();
        }

        @Override
        public void close() {
            try {
                db.endTransaction();
            } finally {
                alone.unlock();
            }
        }

        /** Forgets all that the protocol knows; tables of the app are the app's. */
        public void clear() {
            for (String table : TABLE_NAMES) {
                update("DELETE FROM " + table);
            }
        }

        private SQLiteStatement bound(String sql, Object[] values) {
            SQLiteStatement statement = db.compileStatement(sql);
            for (int i = 0; i < values.length; i++) {
                Object value = values[i];
                if (value == null) {
                    statement.bindNull(i + 1);
                } else if (value instanceof Boolean) {
                    statement.bindLong(i + 1, (Boolean) value ? 1 : 0);
                } else if (value instanceof Number) {
                    statement.bindLong(i + 1, ((Number) value).longValue());
                } else if (value instanceof byte[]) {
                    statement.bindBlob(i + 1, (byte[]) value);
                } else {
                    statement.bindString(i + 1, (String) value);
                }
            }
            return statement;
        }
    }
}
