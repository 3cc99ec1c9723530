/**
 * JSON without leniency and without losses, in plain Java.
 *
 * <p>{@code org.json}, which every device has, is neither: it takes text that is no JSON, keeps the last of two members
 * of one name, and turns numbers into doubles. A protocol that binds tokens to bytes and compares what it was sent cannot
 * use that. Start with {@link org.cetp.json.Json}.
 */
package org.cetp.json;
