package org.cetp.standin;
import android.os.*;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.*;
import org.robolectric.annotation.Config;
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
public class ProbeTest {
  @Test public void bundles() throws Exception {
    Bundle b = new Bundle(); b.putInt("code", 42); b.putString("s", "\ud800x");
    Parcel p = Parcel.obtain(); p.writeBundle(b); p.setDataPosition(0);
    Bundle c = p.readBundle(); System.out.println(c.get("code") + " " + c.getString("s").length()+" " + p.dataSize());
    System.out.println(RuntimeEnvironment.getApplication() + " " + RuntimeEnvironment.getApplication().getPackageName());
    android.database.sqlite.SQLiteDatabase db = android.database.sqlite.SQLiteDatabase.create(null); 
    System.out.println(android.database.DatabaseUtils.stringForQuery(db, "select sqlite_version()", null));
  }
}
