package org.cetp.provider;

import android.app.Activity;
import android.content.ContentProvider;
import android.content.ContentProviderClient;
import android.net.Uri;
import android.os.Bundle;
import android.view.View;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.ScrollView;
import android.widget.TextView;
import java.util.List;

/**
 * Where the user decides (§4.3, §7.2): it shows the action, the object, the parameters and what cannot be undone, and
 * finishes when the user has decided. Not exported: only the PendingIntent that the provider made can open it.
 *
 * <p>The consumer learns from the Activity result no more than that it is over; what was decided it learns from the
 * provider, when it repeats its call. Leaving by "back" is a "no".
 */
public class ConfirmationActivity extends Activity {
    public static final int APPROVE = android.R.id.button1;
    public static final int DENY = android.R.id.button2;

    private Engine engine;
    private long id;
    private boolean decided;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Uri data = getIntent().getData();
        engine = engineOf(data);
        List<String> texts = null;
        if (engine != null) {
            id = Long.parseLong(data.getLastPathSegment());
            try (Store.Transaction tx = engine.store().begin()) {
                texts = engine.confirmations().texts(tx, id);
            }
        }
        if (texts == null) {
            decided = true; // there is nothing to decide on (any more)
            finish();
            return;
        }
        setContentView(screen(texts));
    }

    /** The provider runs in this very process. */
    private Engine engineOf(Uri data) {
        if (data == null || data.getAuthority() == null) {
            return null;
        }
        ContentProviderClient client = getContentResolver().acquireContentProviderClient(data.getAuthority());
        if (client == null) {
            return null;
        }
        try {
            ContentProvider provider = client.getLocalContentProvider();
            return provider instanceof CetpContentProvider ? ((CetpContentProvider) provider).engine() : null;
        } finally {
            client.close();
        }
    }

    private View screen(List<String> texts) {
        int margin = Math.round(16 * getResources().getDisplayMetrics().density);
        LinearLayout column = new LinearLayout(this);
        column.setOrientation(LinearLayout.VERTICAL);
        column.setPadding(margin, margin, margin, margin);
        for (String text : texts) {
            TextView line = new TextView(this);
            line.setText(text);
            line.setTextSize(column.getChildCount() == 0 ? 22 : 16);
            line.setPadding(0, 0, 0, margin / 2);
            column.addView(line);
        }
        column.addView(button(APPROVE, "Approve", Confirmations.Decision.APPROVE));
        column.addView(button(DENY, "Deny", Confirmations.Decision.DENY));
        ScrollView screen = new ScrollView(this);
        // Android 15 draws apps from edge to edge; what stands under the bars could not be read.
        screen.setFitsSystemWindows(true);
        screen.addView(column);
        return screen;
    }

    private Button button(int viewId, String text, final Confirmations.Decision decision) {
        Button button = new Button(this);
        button.setId(viewId);
        button.setText(text);
        // A tap that came through another app's window says nothing about what the user saw.
        button.setFilterTouchesWhenObscured(true);
        button.setOnClickListener(
                new View.OnClickListener() {
                    @Override
                    public void onClick(View view) {
                        decide(decision);
                        setResult(decision == Confirmations.Decision.APPROVE ? RESULT_OK : RESULT_CANCELED);
                        finish();
                    }
                });
        return button;
    }

    private void decide(Confirmations.Decision decision) {
        if (decided) {
            return;
        }
        decided = true;
        try (Store.Transaction tx = engine.store().begin()) {
            engine.confirmations().decide(tx, id, decision);
            tx.commit();
        }
    }

    /** "Back" ends here too. When the system takes the screen away for a while, it does not. */
    @Override
    public void finish() {
        decide(Confirmations.Decision.DISMISS);
        super.finish();
    }
}
