package org.cetp.scripted;

import android.app.Activity;
import android.os.Bundle;

/** What a resolution leads to. The user's part is the host's, so there is nothing to be seen and nothing to decide. */
public class ScriptedActivity extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        finish();
    }
}
