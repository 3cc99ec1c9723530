/**
 * A consumer of CETP v2 for Android, written to be read beside the specification (§). It finds apps that offer tools,
 * calls the tools for an agent, and hands on what comes back as data. It trusts none of them: half of it is about what a
 * provider could do wrong, or on purpose.
 *
 * <table>
 * <caption>What is where</caption>
 * <tr><td>{@link org.cetp.consumer.Manifests}</td><td>who offers tools, in which version (§2.1, §8)</td></tr>
 * <tr><td>{@link org.cetp.consumer.ExampleConsumer}</td><td>who is who; routing (§3.1)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Peer}, {@link org.cetp.consumer.Session}</td><td>negotiating (§2.2, §2.3)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Catalogue}, {@link org.cetp.consumer.Tool}</td><td>tools, checked (§3)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Answer}, {@link org.cetp.consumer.Problem}</td><td>replies and errors (§4, §5)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Execution}</td><td>one execution, with all that is repeated (§4, §6)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Results}</td><td>values, inline and as files (§4.2, §4.5)</td></tr>
 * <tr><td>{@link org.cetp.consumer.LegacyPeer}</td><td>version 1 (§8)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Schema}</td><td>JSON Schema from somebody else (§3.2, §7.3)</td></tr>
 * <tr><td>{@link org.cetp.consumer.Limits}</td><td>every limit, with its reason</td></tr>
 * </table>
 */
package org.cetp.consumer;
