/**
 * The driver on a device: how it is started, how the host reaches it, and what it needs of the system.
 *
 * <p>{@link org.cetp.driver.device.DriverInstrumentation} is the usual way in; {@link
 * org.cetp.driver.device.DriverService} serves without instrumentation, and is how the front driver reaches the one of
 * another caller. docs/android.md has the commands, and the list of what is to be checked on a first device: none of this
 * package has run on one.
 */
package org.cetp.driver.device;
