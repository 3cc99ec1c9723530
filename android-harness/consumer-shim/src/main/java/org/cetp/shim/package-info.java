/**
 * The small interface by which the suite drives a consumer app. The app implements {@link org.cetp.shim.ConsumerUnderTest}
 * on its own protocol code, which deals with Android by way of {@link org.cetp.shim.Platform}; the shim answers the verbs
 * of the target protocol with the one, and plays the other with what the host says.
 *
 * <p>{@link org.cetp.shim.ConsumerInstrumentation} makes a target of it on a device. The module consumer-example is an app
 * that does all of it.
 */
package org.cetp.shim;
