package org.cetp.provider;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.database.Cursor;
import android.net.Uri;

/** A ContentProvider that knows nothing but call(): it has no rows. */
public abstract class CallOnlyProvider extends ContentProvider {
    @Override
    public final Cursor query(Uri uri, String[] projection, String selection, String[] args, String order) {
        return null;
    }

    @Override
    public final String getType(Uri uri) {
        return null;
    }

    @Override
    public final Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    @Override
    public final int delete(Uri uri, String selection, String[] args) {
        return 0;
    }

    @Override
    public final int update(Uri uri, ContentValues values, String selection, String[] args) {
        return 0;
    }
}
