/**
 * Bundles as the JSON of the target protocol ("Values" in docs/target-protocol.md), and back, without losses.
 *
 * <p>{@link org.cetp.codec.BundleCodec} knows {@code android.os.Bundle}; {@link org.cetp.codec.WireScalar}, which knows
 * how single values look on the wire, is plain Java.
 */
package org.cetp.codec;
