/**
 * A small adbd: the transport of adb over TCP ({@link org.cetp.standin.adb.Transport}), as the real adb server speaks it
 * after {@code adb connect}, with the services that the harness needs of a device: a shell ({@link
 * org.cetp.standin.adb.Shell}), abstract sockets, and the streamed installation of APKs.
 *
 * <p>Its commands answer from what the stand-in really has and does. A command or an option that it does not know fails as
 * an unknown one does on a device; it never answers for show.
 */
package org.cetp.standin.adb;
