/**
 * What stands in for a device: the harness's own code, unchanged, in a JVM with Robolectric. Here are only the parts of the
 * platform that Robolectric leaves out: a Binder between processes with its copies ({@link org.cetp.standin.BinderEnd}),
 * the beginning and end of a process ({@link org.cetp.standin.ProviderProcess}), who calls ({@link
 * org.cetp.standin.ThreadBinder}, {@link org.cetp.standin.Identity}), and a screen ({@link org.cetp.standin.Screen}).
 *
 * <p>{@link org.cetp.standin.Phone} puts it together; {@link org.cetp.standin.StandinStdio} offers it over stdin and
 * stdout. What it cannot do is in docs/android.md.
 */
package org.cetp.standin;
