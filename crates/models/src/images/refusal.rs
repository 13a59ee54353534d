//! Tells refusals of images from other failures.

use crate::{FailureKind, ModelError};

/// How providers say that a model takes no images: Ollama (old and new), llama.cpp, OpenAI and compatible ones, OpenRouter.
const NO_IMAGES: &[&str] = &[
    "multimodal",
    "mmproj",
    "image input",
    "image_url",
    "support image",
    "support vision",
    "images are not supported",
];

/// How providers say that they do not take this image, although they may take others.
const THIS_IMAGE: &[&str] = &[
    "exceeds",
    "too large",
    "too big",
    "too many images",
    "process image",
    "decode image",
    "load image",
    "invalid image",
    "image format",
    "dimension",
    "base64",
];

/// Whether a failure with these words will not pass by itself, as the model takes no images.
pub(crate) fn is_refusal(said: &str) -> bool {
    NO_IMAGES.iter().any(|sign| said.contains(sign))
}

/// Whether a failure may have been for the images of the request: anything that providers answer which is not about keys,
/// rates or the length of the conversation. Their words differ too much to rely on them.
pub(crate) fn may_be_refused(error: &ModelError) -> bool {
    matches!(error.kind, FailureKind::Rejected | FailureKind::Server) || is_too_large(error)
}

/// Whether it was for these images, and others may be taken.
pub(super) fn is_about_one_image(error: &ModelError) -> bool {
    let said = error.message.to_lowercase();
    !is_refusal(&said) && (is_too_large(error) || THIS_IMAGE.iter().any(|sign| said.contains(sign)))
}

/// 413 is about the size of the request, of which images are most.
fn is_too_large(error: &ModelError) -> bool {
    error.status == Some(413)
}
