"""Chinese and English text: normalization, index terms, sentences and chunks."""

from jiyi.text.analysis import Analysis, Analyzer
from jiyi.text.highlight import highlight
from jiyi.text.language import detect_language
from jiyi.text.normalize import fold, tag_form
from jiyi.text.questions import question_share
from jiyi.text.sentences import sentences, split_chunks
from jiyi.text.vocabulary import Vocabulary

__all__ = [
    "Analysis",
    "Analyzer",
    "Vocabulary",
    "detect_language",
    "fold",
    "highlight",
    "question_share",
    "sentences",
    "split_chunks",
    "tag_form",
]
