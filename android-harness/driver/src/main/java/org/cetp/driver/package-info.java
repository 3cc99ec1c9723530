/**
 * Drives a provider on the device for a runner on the host, which it reaches over an abstract socket.
 *
 * <p>{@link org.cetp.driver.Driver} answers the verbs of the target protocol (docs/target-protocol.md) and is the place to
 * start. It touches the device through few interfaces: {@link org.cetp.driver.ProviderPort} (one call to a provider),
 * {@link org.cetp.driver.LocalIdentities} (whom this app can pass for), {@link org.cetp.driver.Resolutions} (opening a
 * PendingIntent) and {@link org.cetp.driver.IntentFacts} (what is seen of one). What implements them on a device is in
 * {@code org.cetp.driver.device}.
 */
package org.cetp.driver;
