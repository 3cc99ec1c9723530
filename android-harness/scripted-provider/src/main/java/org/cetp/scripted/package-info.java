/**
 * A provider that the host plays: {@link org.cetp.scripted.ScriptedProvider} hands each call over a link to the consumer's
 * test harness, which has the answer from the host, and does as it is told: it returns that Bundle, throws that exception,
 * dies, or does not return. The link comes from {@link org.cetp.scripted.ScriptedService}; what the process holds is in
 * {@link org.cetp.scripted.Stage}.
 */
package org.cetp.scripted;
