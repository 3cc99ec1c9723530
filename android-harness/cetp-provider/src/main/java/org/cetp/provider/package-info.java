/**
 * The provider's side of CETP v2, and of the read-only v1 beside it, for an Android app. Written to be read beside the
 * specification: section numbers (§) in the comments are the specification's.
 *
 * <p>An app brings a {@link org.cetp.provider.CetpApp} with its {@link org.cetp.provider.Tool}s and a subclass of
 * {@link org.cetp.provider.CetpContentProvider}; everything else is here. Start reading at
 * {@link org.cetp.provider.Engine}, which takes a call from its entry to its reply, and go on with
 * {@link org.cetp.provider.Executor}.
 *
 * <table>
 * <caption>What is where</caption>
 * <tr><td>{@link org.cetp.provider.CetpContentProvider}</td><td>the Binder's side: who calls (§7.1)</td></tr>
 * <tr><td>{@link org.cetp.provider.Engine}</td><td>which version, which method, which session (§4)</td></tr>
 * <tr><td>{@link org.cetp.provider.Extras}, {@link org.cetp.provider.Replies}, {@link org.cetp.provider.Refusal}</td>
 *     <td>what requests and replies look like (§4.1, §4.2, §5)</td></tr>
 * <tr><td>{@link org.cetp.provider.Sessions}</td><td>negotiate and session tokens (§2.2)</td></tr>
 * <tr><td>{@link org.cetp.provider.Catalogue}</td><td>scopes, tools, revision (§3)</td></tr>
 * <tr><td>{@link org.cetp.provider.Identity}, {@link org.cetp.provider.Authorization}</td>
 *     <td>callers and what was granted to them (§7.1)</td></tr>
 * <tr><td>{@link org.cetp.provider.Executor}</td><td>execute_tool, from the first check to the stored result (§4, §6)</td></tr>
 * <tr><td>{@link org.cetp.provider.Executions}</td><td>one execution per request_id (§6)</td></tr>
 * <tr><td>{@link org.cetp.provider.Confirmations}, {@link org.cetp.provider.ConfirmationActivity}</td>
 *     <td>what the user decides (§4.3)</td></tr>
 * <tr><td>{@link org.cetp.provider.Operations}</td><td>get_operation, cancel_operation (§4.4)</td></tr>
 * <tr><td>{@link org.cetp.provider.Results}</td><td>inline or as a file (§4.5)</td></tr>
 * <tr><td>{@link org.cetp.provider.LegacyV1}</td><td>v1 for old consumers (§8)</td></tr>
 * <tr><td>{@link org.cetp.provider.Store}</td><td>what is durable, and the transactions (§4.4, §6, §10)</td></tr>
 * </table>
 */
package org.cetp.provider;
