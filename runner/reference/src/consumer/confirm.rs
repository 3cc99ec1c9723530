//! The user's part: a login, a grant, a confirmation on the provider's own screen (§4.3). The main function is [`ask`].

use super::context::Context;
use super::distort;
use super::outcome::Ending;
use super::platform::Launched;
use super::reply::Problem;
use cetp_vectors::bundle::PendingIntent;

/// Shows the provider's screen and waits until it is gone. Gives the resume token, and whether the user left without a
/// result.
///
/// Only the PendingIntent of §4.3 is ever launched; the action string of version 1 is not even looked at.
///
/// # Errors
/// There is nothing to launch, or nothing that may be.
pub fn ask(cx: Context<'_>, package: &str, problem: &Problem) -> Result<(String, bool), Ending> {
    let Some((intent, token)) = &problem.resolution else {
        // Without a way to the user it is the final error that it says it is.
        return Err(problem.clone().ending());
    };
    trusted(cx, intent, package)
        .map_err(|why| Ending::refused(format!("The provider's screen is not shown: {why}")))?;
    match cx.platform.launch(intent) {
        Launched::Ok => Ok((token.clone(), false)),
        Launched::Cancelled => Ok((token.clone(), true)),
        Launched::Failed => Err(Ending::refused("The provider's screen could not be shown")),
    }
}

/// A PendingIntent acts with the identity of whoever made it. One of another app would show that app's screen in the
/// provider's name; a mutable or implicit one could be led elsewhere (§4.3, §7.2). What the platform does not tell
/// cannot be checked, but for the creator, which it always tells.
fn trusted(cx: Context<'_>, intent: &PendingIntent, package: &str) -> Result<(), &'static str> {
    if distort::any_screen(cx) {
        return Ok(());
    }
    let in_package = |component: &String| component.split('/').next() == Some(package);
    if intent.creator_package.as_deref() != Some(package) {
        Err("it is not the provider's own")
    } else if intent.immutable == Some(false) {
        Err("it can be changed")
    } else if intent.explicit == Some(false) || !intent.component.as_ref().is_none_or(in_package) {
        Err("it does not lead to the provider")
    } else {
        Ok(())
    }
}
